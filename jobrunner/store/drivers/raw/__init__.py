"""A database without SQLAlchemy and psycopg: what makes the idle tick quick."""
