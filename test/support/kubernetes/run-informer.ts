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

/** @param resource `v1/configmaps` or `apps/v1/deployments`; by default of all namespaces */
export function runInformer(kubeconfigFile: string, resource: string, namespace?: string) {
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
    /** The next event; undefined when the informer has ended. */
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

/** The names in an informer's store. */
export function storeOf(kubeconfig: string, resource: string) {
  const running = runInformer(kubeconfig, resource);
  const names = new Set<string>();
  let events = 0;
  const ended = (async () => {
    for (let event = await running.next(); event !== undefined; event = await running.next()) {
      events += 1;
      const name = [event.namespace, event.name].filter(Boolean).join('/');
      if (event.event === 'deleted') names.delete(name);
      else if (event.event === 'added' || event.event === 'updated') names.add(name);
    }
  })();
  return {
    names: () => [...names].sort(),
    events: () => events,
    async stop() {
      await running.stop();
      await ended;
    },
  };
}
