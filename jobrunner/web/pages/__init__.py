"""The pages: each takes a call, and answers with a template and its values."""
