from django.db import models


class Account(models.Model):
    email = models.CharField(max_length=200, unique=True)
    welcomed = models.BooleanField(default=False)
