"""Computations that have more than one implementation: encoders, features, aligners, domains, folders."""
