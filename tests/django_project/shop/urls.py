from django.db import IntegrityError, connection, transaction
from django.http import JsonResponse
from django.urls import path

from shop.jobs import send_welcome
from shop.models import Account
from shop.tasks import add


def sign_up(request):
    email = request.GET["email"]
    try:
        with transaction.atomic():
            run = send_welcome.enqueue(connection, email=email)
            Account.objects.create(email=email)
    except IntegrityError:
        return JsonResponse({"error": "this address is taken"}, status=409)
    return JsonResponse({"run": run.id})


def add_two(request):
    return JsonResponse({"id": add.enqueue(1, other=2).id})


def see(request):
    result = add.get_result(request.GET["id"])
    return JsonResponse({"status": str(result.status), "value": result.return_value if result.is_finished else None})


urlpatterns = [path("users/", sign_up), path("add/", add_two), path("see/", see)]
