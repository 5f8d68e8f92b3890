import { describe, expect, it } from "vitest";

import { isPublicAddress, rejectionOf } from "./public-address.ts";

const strict = { allowedPorts: [443, 8443], allowInsecure: false };

describe("an endpoint's address", () => {
  it.each([
    "https://hooks.example.com/kapi?x=1",
    "https://hooks.example.com:8443/",
    "https://93.184.215.14/",
    "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    "https://HOOKS.example.com./",
  ])("accepts %s", (url) => {
    expect(rejectionOf(url, strict)).toBeNull();
  });

  it.each([
    ["http://hooks.example.com/", "it is not https"],
    ["ftp://hooks.example.com/", "it is not https"],
    ["no url", "it is not a URL"],
    ["https://user@hooks.example.com/", "it has user information"],
    ["https://user:secret@hooks.example.com/", "it has user information"],
    ["https://hooks.example.com/#part", "it has a fragment"],
    ["https://hooks.example.com/#", "it has a fragment"],
    ["https://hooks.example.com:22/", "port 22 is not allowed"],
    ["https://127.0.0.1/", "127.0.0.1 is not a public address"],
    ["https://2130706433/", "127.0.0.1 is not a public address"],
    ["https://0x7f000001/", "127.0.0.1 is not a public address"],
    ["https://0x7f.1/", "127.0.0.1 is not a public address"],
    ["https://0177.0.0.1/", "127.0.0.1 is not a public address"],
    ["https://017700000001/", "127.0.0.1 is not a public address"],
    ["https://0xa9fea9fe/", "169.254.169.254 is not a public address"],
    ["https://%31%32%37.0.0.1/", "127.0.0.1 is not a public address"],
    ["https://①②⑦.0.0.1/", "127.0.0.1 is not a public address"],
    ["https://127.1/", "127.0.0.1 is not a public address"],
    ["https://127.0.0.1./", "127.0.0.1 is not a public address"],
    ["https://１２７.0.0.1/", "127.0.0.1 is not a public address"],
    ["https://0/", "0.0.0.0 is not a public address"],
    ["https://10.1.2.3/", "10.1.2.3 is not a public address"],
    ["https://172.31.255.255/", "172.31.255.255 is not a public address"],
    ["https://192.168.0.1/", "192.168.0.1 is not a public address"],
    ["https://169.254.169.254/latest/meta-data", "169.254.169.254 is not a public address"],
    ["https://100.64.0.1/", "100.64.0.1 is not a public address"],
    ["https://224.0.0.1/", "224.0.0.1 is not a public address"],
    ["https://255.255.255.255/", "255.255.255.255 is not a public address"],
    ["https://[::1]/", "::1 is not a public address"],
    ["https://[::]/", ":: is not a public address"],
    ["https://[::ffff:127.0.0.1]/", "::ffff:7f00:1 is not a public address"],
    ["https://[::ffff:7f00:1]/", "::ffff:7f00:1 is not a public address"],
    ["https://[::127.0.0.1]/", "::7f00:1 is not a public address"],
    ["https://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1 is not a public address"],
    ["https://[64:ff9b::10.0.0.1]/", "64:ff9b::a00:1 is not a public address"],
    ["https://[64:ff9b:1::1]/", "64:ff9b:1::1 is not a public address"],
    ["https://[2002:7f00:1::]/", "2002:7f00:1:: is not a public address"],
    ["https://[::ffff:0:127.0.0.1]/", "::ffff:0:7f00:1 is not a public address"],
    ["https://[2001::7f00:1]/", "2001::7f00:1 is not a public address"],
    ["https://[fd00::1]/", "fd00::1 is not a public address"],
    ["https://[fe80::1]/", "fe80::1 is not a public address"],
    ["https://[ff02::1]/", "ff02::1 is not a public address"],
    ["https://localhost/", "localhost is not a public name"],
    ["https://LOCALHOST./", "localhost is not a public name"],
    ["https://api.localhost/", "api.localhost is not a public name"],
    ["https://printer.local/", "printer.local is not a public name"],
    ["https://metadata.google.internal/", "metadata.google.internal is not a public name"],
    ["https://kafka/", "kafka is not a public name"],
  ])("rejects %s: %s", (url, reason) => {
    expect(rejectionOf(url, strict)).toBe(reason);
  });

  it("can have http and a local host if the operator allows it, but never user information or another protocol", () => {
    const insecure = { ...strict, allowInsecure: true };
    expect(rejectionOf("http://localhost:3000/hook", insecure)).toBeNull();
    expect(rejectionOf("http://user@localhost:3000/hook", insecure)).toBe("it has user information");
    expect(rejectionOf("file:///etc/passwd", insecure)).toBe("it is not https");
  });
});

it.each(["no address", "", "fe80::1%eth0", "1.2.3"])("%j is not a public address", (text) => {
  expect(isPublicAddress(text)).toBe(false);
});
