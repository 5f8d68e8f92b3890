import encodeQR from "qr";

/** A QR code as the `data:` URL of an image: the page's CSP forbids the styles of an inline SVG. */
export function qrCodeAddress(text: string): string {
  return `data:image/svg+xml;base64,${Buffer.from(encodeQR(text, "svg", { ecc: "medium" })).toString("base64")}`;
}
