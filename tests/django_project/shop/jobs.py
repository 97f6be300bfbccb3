from django.core.mail import send_mail

from jobrunner import Context, fixed, job
from shop.models import Account


@job("send_welcome", discard_on=Account.DoesNotExist)
def send_welcome(ctx: Context, email: str) -> str:
    account = Account.objects.get(email=email)
    account.welcomed = True
    account.save()
    return f"welcome {email}"


@job("fail", max_attempts=2, backoff=fixed("1h"))
def fail(ctx: Context) -> None:
    Account.objects.create(email="half")
    raise RuntimeError("as asked")


@job("welcome_async")
async def welcome_async(ctx: Context, email: str) -> None:
    await Account.objects.filter(email=email).aupdate(welcomed=True)


@job("welcome_all", max_attempts=1)
def welcome_all(ctx: Context, databases: list[str]) -> None:
    for name in databases:
        Account.objects.using(name).update(welcomed=True)


@job("mail_and_welcome", max_attempts=1)
def mail_and_welcome(ctx: Context, email: str) -> None:
    assert send_mail("welcome", "to our shop", "shop@example.com", [email]) == 1
