"""The atlas: a directory of proteins, their features and clusters, built once and then only read.

`builder` makes one from what a `plan` names, by `ingest`, `annotations`, `encoding`, `clustering`, `summaries`,
`points` and `tables`; `starter` is the plan that ships. `reader` opens an atlas and answers; `store` is the seam to the
vector store, `query` turns a UniProt-style query into a filter, `taxonomy` reads lineages, and `format` names the files
on disk.
"""
