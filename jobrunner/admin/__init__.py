"""Operations that an operator or a deploy starts and that change many rows at once."""
