"""A Sentry transport that keeps what it is given and sends nothing."""

from sentry_sdk.transport import Transport


class Recorder(Transport):
    # Shared on purpose: Sentry makes the instance.
    sent: list = []  # noqa: RUF012
    transactions: list = []  # noqa: RUF012

    @classmethod
    def forget(cls):
        cls.sent, cls.transactions = [], []

    def capture_envelope(self, envelope):
        self.sent.append(envelope.serialize())
        self.transactions += [item.payload.json for item in envelope.items if item.type == "transaction"]
