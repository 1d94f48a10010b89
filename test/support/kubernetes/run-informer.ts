/** client-go's informer as a process, and the events that it reports. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { informer } from './programs.ts';

/** `synced` once the store has the initial objects; `error` for each failed list or watch. */
export interface InformerEvent {
  readonly event: 'added' | 'updated' | 'deleted' | 'synced' | 'error';
  readonly namespace?: string;
  readonly name?: string;
  readonly error?: string;
}

export interface RunningInformer {
  /** The next event; undefined when the informer has ended. */
  next(): Promise<InformerEvent | undefined>;
  stop(): Promise<void>;
}

/** @param resource `v1/configmaps` or `apps/v1/deployments`; by default of all namespaces */
export function runInformer(kubeconfigFile: string, resource: string, namespace?: string): RunningInformer {
  const words = ['--kubeconfig', kubeconfigFile, '--resource', resource];
  const child = spawn(
    informer(),
    [...words, ...(namespace === undefined ? [] : ['--namespace', namespace])],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async next() {
      const { value, done } = await lines.next();
      return done === true ? undefined : JSON.parse(value);
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
