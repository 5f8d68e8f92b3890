import { eventually } from "@kapi/testkit";
import { SMTPServer } from "smtp-server";

/** A running SMTP server, and the mails that it got. */
export interface MailServer {
  readonly url: string;
  /** The source texts of the mails to an address. */
  to(email: string): readonly string[];
  /**
   * Waits until the newest mail to an address has a link to `page`; returns the token of the link.
   */
  tokenTo(email: string, page: "accept" | "recover"): Promise<string>;
  /** True: the server refuses all mails from now on. False: the server accepts mails again. */
  refuse(isRefusing: boolean): void;
  stop(): Promise<void>;
}

interface Received {
  readonly to: readonly string[];
  readonly source: string;
}

/** Starts an SMTP server on this machine. The server keeps the mails that it gets. */
export async function startMailServer(): Promise<MailServer> {
  const received: Received[] = [];
  let refusing = false;
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    logger: false,
    onData: (stream, session, done) => {
      const pieces: Buffer[] = [];
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("end", () => {
        if (refusing) return done(new Error("refused"));
        // Undoes the line breaks and the escaped equals signs of quoted-printable.
        const source = Buffer.concat(pieces).toString("utf8").replaceAll("=\r\n", "").replaceAll("=3D", "=");
        received.push({ to: session.envelope.rcptTo.map(({ address }) => address), source });
        return done();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const to = (email: string): string[] =>
    received.filter((mail) => mail.to.includes(email)).map(({ source }) => source);
  return {
    url: `smtp://127.0.0.1:${port}`,
    to,
    tokenTo: async (email, page) => {
      let token = "";
      await eventually(() => {
        const found = new RegExp(`/console/${page}#([A-Za-z0-9_-]{43})`).exec(to(email).at(-1) ?? "")?.[1];
        if (found === undefined) throw new Error(`the newest mail to ${email} has no link to ${page}`);
        token = found;
      });
      return token;
    },
    refuse: (isRefusing) => {
      refusing = isRefusing;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
