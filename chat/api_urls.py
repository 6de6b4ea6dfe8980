from django.urls import path

from chat import api

app_name = "chat"

urlpatterns = [
    path("facts/<uuid:fact_id>/erase/", api.EraseFactView.as_view(), name="erase_fact"),
]
