"""Everything that touches the database: the only package that imports sqlalchemy, psycopg and alembic."""
