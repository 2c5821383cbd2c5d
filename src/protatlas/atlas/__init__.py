"""The atlas: a directory of proteins, their features and clusters, built once and then only read.

`builder` makes one from FASTA files, `reader` opens it and answers, `store` is the seam to the vector store, `query`
turns a UniProt-style query into a filter, `clustering` groups by features, `taxonomy` reads lineages, and `format`
names the files on disk.
"""
