"""Messages with their replies, for tests that read conversations."""

from tests.factories.chat import MessageFactory, ReplyFactory


def exchange(conversation, question, answer, **reply):
    """A message and its reply; return both."""
    message = MessageFactory(conversation=conversation, content=question)
    return message, ReplyFactory(reply_to=message, content=answer, **reply)
