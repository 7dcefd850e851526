"""A kernel tells all: no word of a cell is lost, however its channels come up."""

import jupyter_client
import pytest
import zmq
from jupyter_client.channels import ZMQSocketChannel

from tools.grading.kernel import Kernel
from tools.grading.protocol import CellResult, Job, Limits


@pytest.fixture
def late_client(monkeypatch):
    """The channel of outputs joins when a second reply has come; what was said before is lost."""

    class LateShell(ZMQSocketChannel):
        replies = 0

        def get_msg(self, timeout=None):
            message = super().get_msg(timeout)
            self.replies += 1
            if self.replies == 2:
                self.client.iopub_channel.socket.setsockopt(zmq.SUBSCRIBE, b"")
            return message

    class LateClient(jupyter_client.BlockingKernelClient):
        def connect_iopub(self, identity=None):
            return self._create_connected_socket("iopub", identity=identity)

        @property
        def shell_channel(self):
            channel = super().shell_channel
            channel.client = self
            return channel

        shell_channel_class = LateShell

    monkeypatch.setattr(jupyter_client, "BlockingKernelClient", LateClient)


def test_a_channel_of_outputs_that_joins_late_loses_nothing(tmp_path, late_client):
    kernel = Kernel(tmp_path, Job({}, Limits(cell=1), (), user=None, own_disk=False))
    try:
        kernel.start()
        assert kernel.run("print('first')") == CellResult(printed="first\n")
    finally:
        kernel.process.kill()
        kernel.process.wait()
        kernel.client.stop_channels()
