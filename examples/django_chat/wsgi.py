"""`gunicorn examples.django_chat.wsgi:application`, or `mod_wsgi`; any number of processes and threads."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.django_chat.settings")
application = get_wsgi_application()
