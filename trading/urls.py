from django.urls import path

from trading import views

app_name = "trading"

urlpatterns = [
    path("profile/", views.profile, name="profile"),
    path("profile/tokens/", views.add_token, name="add_token"),
    path("profile/tokens/<uuid:token_id>/revoke/", views.revoke, name="revoke_token"),
    path("theme/", views.theme, name="theme"),
]
