/** Helm and kubectl for one namespace of the cluster of `KUBECONFIG`. */
import { spawn } from "node:child_process";

const COMMAND_TIMEOUT_MS = 600_000;

/** Runs a command without blocking. Returns its standard output. */
async function output(command: string, args: readonly string[], input = ""): Promise<string> {
  const child = spawn(command, args, { timeout: COMMAND_TIMEOUT_MS });
  const text = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (text.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (text.stderr += String(chunk)));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return text.stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${text.stdout}${text.stderr}`);
}

interface Listed {
  readonly items: readonly {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  }[];
}

/** One namespace of the cluster. Every method throws if its command fails. */
export class Cluster {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return output("kubectl", ["-n", this.namespace, ...args]);
  }

  apply(manifests: string): Promise<string> {
    return output("kubectl", ["-n", this.namespace, "apply", "-f", "-"], manifests);
  }

  helm(...args: readonly string[]): Promise<string> {
    return output("helm", ["-n", this.namespace, ...args]);
  }

  /** The nodes on which the cluster's DNS runs. */
  async dnsNodes(): Promise<string[]> {
    const pods = ["get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-dns"];
    return (await this.kubectl(...pods, "-o", "jsonpath={.items[*].spec.nodeName}")).split(" ").filter(Boolean);
  }

  /** Runs the operator's command line in its pod. */
  async admin<T>(...args: readonly string[]): Promise<T> {
    const command = ["node", "src/main.ts", "admin", ...args, "--json"];
    return JSON.parse(await this.kubectl("exec", "deploy/kapi-cli", "--", ...command)) as T;
  }

  /** The objects of these kinds that have the label of the release, as `kind/name`. */
  async named(kinds: string): Promise<string[]> {
    const selector = "app.kubernetes.io/instance=kapi";
    const { items } = JSON.parse(await this.kubectl("get", kinds, "-l", selector, "-o", "json")) as Listed;
    return items.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  }

  /** The names of the pods of this component of kapi, as `pod/name`. */
  async podsOf(component: string): Promise<string[]> {
    const selector = `app.kubernetes.io/instance=kapi,app.kubernetes.io/component=${component}`;
    const pods = (await this.kubectl("get", "pods", "-l", selector, "-o", "name")).split("\n").filter(Boolean);
    if (pods.length === 0) throw new Error(`${component} has no pod`);
    return pods;
  }

  async nodes(): Promise<string[]> {
    const text = await output("kubectl", ["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]);
    return text.split(" ");
  }

  /** The node port of a Service. */
  nodePort(service: string): Promise<string> {
    return this.kubectl("get", "service", service, "-o", "jsonpath={.spec.ports[0].nodePort}");
  }

  /** The internal address of a node. */
  address(node: string): Promise<string> {
    return output("kubectl", [
      "get",
      "node",
      node,
      "-o",
      'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}',
    ]);
  }
}
