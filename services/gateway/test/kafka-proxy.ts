import net from "node:net";

import { TcpProxy } from "@kapi/testkit";

const HOST = "127.0.0.1";
/** Every response of a broker begins with its length, in this many bytes. */
const LENGTH_BYTES = 4;

/**
 * Opens a proxy in front of a Kafka of one broker. A relay replaces the broker's port in its
 * responses with the proxy's port, so that clients connect to the proxy. `stop` closes both.
 */
export async function proxyOfKafka(broker: string): Promise<{ proxy: TcpProxy; stop: () => Promise<void> }> {
  const { hostname: host, port } = new URL(`kafka://${broker}`);
  const sockets = new Set<net.Socket>();
  const relay = net.createServer((near) => {
    const far = net.connect({ host, port: Number(port) });
    join(near, far, sockets);
    near.on("data", (data) => far.write(data));
    let rest = Buffer.alloc(0);
    far.on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= LENGTH_BYTES && rest.length >= LENGTH_BYTES + rest.readUInt32BE()) {
        const length = LENGTH_BYTES + rest.readUInt32BE();
        near.write(readdressed(rest.subarray(0, length)));
        rest = rest.subarray(length);
      }
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, HOST, resolve));
  const proxy = await TcpProxy.open({ host: HOST, port: (relay.address() as net.AddressInfo).port });
  const [brokerAddress, proxyAddress] = [addressOf(host, Number(port)), addressOf(host, proxy.port)];
  const readdressed = (answer: Buffer): Buffer => {
    const at = answer.indexOf(brokerAddress);
    if (at >= 0) proxyAddress.copy(answer, at);
    return answer;
  };
  const stop = async (): Promise<void> => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    relay.close();
  };
  return { proxy, stop };
}

/** An address in the encoding of a broker's responses. */
function addressOf(host: string, port: number): Buffer {
  const address = Buffer.alloc(2 + host.length + 4);
  address.writeInt16BE(host.length);
  address.write(host, 2);
  address.writeInt32BE(port, 2 + host.length);
  return address;
}

/** Closes each of two sockets when the other closes. */
function join(near: net.Socket, far: net.Socket, sockets: Set<net.Socket>): void {
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ] as const) {
    sockets.add(socket);
    socket.on("error", () => other.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
  }
}
