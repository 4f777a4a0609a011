"""The generated parts of docs/: the table of APIs, the layers, the state charts. `manage.py gen_docs` writes them."""
