"""Operations that a person or a deploy starts and that change many rows at once."""
