from django.urls import path

from trading import api

app_name = "trading"

urlpatterns = [
    path("me/", api.MeView.as_view(), name="me"),
]
