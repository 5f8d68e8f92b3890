import { createTransport } from "nodemailer";

import type { Mail, Mailer, SendMail } from "../../domain/people-ports.ts";

/** Time for the connection, for the server's greeting, and for each answer of the server. */
const STEP_TIMEOUT_MS = 10_000;
/** Time for a whole mail. */
const MAIL_TIMEOUT_MS = 20_000;

/** The mail server, and the values that every mail contains. */
export interface MailSettings {
  /** `smtp://` or `smtps://`, with user and password where needed. */
  readonly url: string;
  readonly from: string;
  /** Public base URL of the console. */
  readonly publicUrl: string;
}

/** Mails with links to the console. */
export function createMailer(settings: MailSettings): Mailer {
  const { publicUrl } = settings;
  return {
    send: createSendMail(settings),
    linkTo: (page, token) => new URL(`/console/${page}#${token}`, publicUrl).href,
  };
}

/** Sends mails through an SMTP server, each over a connection of its own. */
function createSendMail({ url, from }: MailSettings): SendMail {
  const transport = createTransport(
    {
      url,
      connectionTimeout: STEP_TIMEOUT_MS,
      greetingTimeout: STEP_TIMEOUT_MS,
      socketTimeout: STEP_TIMEOUT_MS,
      dnsTimeout: STEP_TIMEOUT_MS,
      // No mail includes the content of a file or of a URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
  return async (mail: Mail) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error("the mail server did not accept the mail in time")), MAIL_TIMEOUT_MS);
    });
    try {
      await Promise.race([transport.sendMail({ ...mail }), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
