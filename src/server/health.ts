/**
 * What the process says of its health, in the form of kube-apiserver's own endpoints. `/livez` (and its old name
 * `/healthz`) only says that the process answers: what it depends on must not make Kubernetes restart it, and a start that
 * hangs ends by itself. `/readyz` asks every part.
 * https://kubernetes.io/docs/reference/using-api/health-checks/
 */
import type { ReadinessCheck } from '../lib/readiness.ts';

export interface Readiness {
  readonly name: string;
  /** Why it is not ready; absent where it is. */
  readonly reason?: string;
}

export interface HealthReport {
  readonly status: 200 | 503;
  readonly text: string;
}

/** Asks every part. */
export function readinessOf(checks: readonly ReadinessCheck[]): Readiness[] {
  return checks.map((check) => {
    const reason = check.notReadyBecause();
    return reason === undefined ? { name: check.name } : { name: check.name, reason };
  });
}

/**
 * @param endpoint as it is named in the last line: `livez`, `readyz`
 * @param verbose tells every part, not only those that fail
 */
export function healthReport(endpoint: string, parts: readonly Readiness[], verbose: boolean): HealthReport {
  const ready = parts.every(({ reason }) => reason === undefined);
  if (ready && !verbose) return { status: 200, text: 'ok' };
  const lines = [{ name: 'ping' }, ...parts].map(lineOf);
  const verdict = `${endpoint} check ${ready ? 'passed' : 'failed'}`;
  return { status: ready ? 200 : 503, text: `${[...lines, verdict].join('\n')}\n` };
}

function lineOf({ name, reason }: Readiness): string {
  return reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`;
}
