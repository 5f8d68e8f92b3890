import encodeQR from "qr";

/** A QR code as the address of an image (`data:`): the page may show no inline SVG with styles. */
export function qrCodeAddress(text: string): string {
  return `data:image/svg+xml;base64,${Buffer.from(encodeQR(text, "svg", { ecc: "medium" })).toString("base64")}`;
}
