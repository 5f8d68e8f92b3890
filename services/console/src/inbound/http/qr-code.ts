import encodeQR from "qr";

/** A QR code as the `data:` URL of an image, so that the page inserts no markup from an answer. */
export function qrCodeAddress(text: string): string {
  return `data:image/svg+xml;base64,${Buffer.from(encodeQR(text, "svg", { ecc: "medium" })).toString("base64")}`;
}
