/**
 * The event of a watch after which a client lists again.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses
 */

/** @returns one line, with its line feed */
export function expiredEvent(message: string): string {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message };
  return `${JSON.stringify({ type: 'ERROR', object: { ...status, reason: 'Expired', code: 410 } })}\n`;
}
