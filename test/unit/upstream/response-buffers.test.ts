/** `properties/large-responses.test.ts` holds that no client receives another's bytes. */
import t from 'tap';
import { BorrowedChunk } from '../../../src/upstream/http1/borrowed-chunk.ts';
import { ResponseBuffers, type StoredChunk } from '../../../src/upstream/response-buffers.ts';

function store(memory: ResponseBuffers, text: string, times: number): StoredChunk {
  let stored: StoredChunk | undefined;
  BorrowedChunk.lend(Buffer.from(text.repeat(times)), (chunk) => {
    stored = memory.store(chunk);
  });
  if (stored === undefined) throw new Error('nothing was lent');
  return stored;
}

const KB = 1024;

t.test('memory is reused after everything stored in it was released', async (t) => {
  const memory = new ResponseBuffers();
  const one = store(memory, 'a', 40 * KB);
  const two = store(memory, 'b', 20 * KB);
  t.equal(one.bytes.buffer, two.bytes.buffer, 'two pieces in one block');
  t.equal(one.bytes.toString(), 'a'.repeat(40 * KB), 'the second has not touched the first');
  one.release?.();
  const three = store(memory, 'c', 40 * KB);
  t.not(three.bytes.buffer, two.bytes.buffer, 'the first block is still read');
  t.equal(two.bytes.toString(), 'b'.repeat(20 * KB));
  two.release?.();
  three.release?.();
  const four = store(memory, 'd', 64 * KB);
  t.ok([one, three].some(({ bytes }) => bytes.buffer === four.bytes.buffer));
});

t.test('two responses share no memory', async (t) => {
  const one = store(new ResponseBuffers(), 'a', 60 * KB);
  one.release?.();
  t.not(store(new ResponseBuffers(), 'b', 60 * KB).bytes.buffer, one.bytes.buffer);
});

t.test('a borrowed chunk cannot be read after its release', async (t) => {
  let borrowed: BorrowedChunk | undefined;
  const take = (chunk: BorrowedChunk) => {
    borrowed = chunk;
  };
  BorrowedChunk.lend(Buffer.from('a'), take);
  t.throws(() => borrowed?.copy(), { message: 'the chunk was released' });
  t.throws(() => borrowed?.copyInto(Buffer.alloc(9)), { message: 'the chunk was released' });
  t.throws(() => borrowed?.length, { message: 'the chunk was released' });
  const fault = new Error('not taken');
  const refuse = (chunk: BorrowedChunk) => {
    borrowed = chunk;
    throw fault;
  };
  t.throws(() => BorrowedChunk.lend(Buffer.from('b'), refuse), fault);
  t.throws(() => borrowed?.copy(), { message: 'the chunk was released' }, 'nor if its reader threw');
});
