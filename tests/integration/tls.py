"""TLS before a server that has none, and the certificates for it."""

import asyncio
import contextlib
import datetime
import ipaddress
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority that lives in a folder."""

    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraint = x509.BasicConstraints(ca=True, path_length=0)
        certificate = self._sign(self._name, self._key.public_key(), constraint)
        self.file = self.folder / "ca.crt"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server_context(self, names=("localhost",), addresses=("127.0.0.1",)):
        """What a server needs to be trusted under these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = x509.SubjectAlternativeName(
            [x509.DNSName(name) for name in names]
            + [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        )
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        certificate = self._sign(subject, key.public_key(), alternatives)
        files = self.folder / "server.crt", self.folder / "server.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        return context

    def _sign(self, subject, public_key, extension):
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        )
        return builder.sign(self._key, hashes.SHA256())


@contextlib.asynccontextmanager
async def tls_front(port, context):
    """Listen with TLS and hand what comes to the plain server on `port`; gives the port."""
    pipes = set()

    async def pipe(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()

    async def serve(reader, writer):
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # the plain server has ended; whoever came learns it by a closed connection
            writer.close()
            return
        tasks = {
            asyncio.create_task(pipe(reader, there_writer)),
            asyncio.create_task(pipe(there_reader, writer)),
        }
        pipes.update(tasks)
        await asyncio.wait(tasks)
        pipes.difference_update(tasks)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in pipes:
            task.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)
