from django.urls import path

from trading import views

app_name = "trading"

urlpatterns = [
    path("profile/", views.profile, name="profile"),
    path("theme/", views.theme, name="theme"),
]
