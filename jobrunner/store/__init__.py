"""Everything that touches the database: the only room that imports sqlalchemy, psycopg and alembic."""
