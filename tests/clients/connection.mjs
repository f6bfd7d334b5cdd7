// A connection to the service that is kept alive, with one request at a time, for load: it makes nothing of a response but its status and its
// bytes, so that on a machine that serves and asks, most of the work is the service's.
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS = 'HTTP/1.1 '.length;

// The bytes of a request.
export function request(url, method, path, headers, body) {
  const length = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries({ host: new URL(url).host, ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
}

export class Connection {
  #socket;
  #received = Buffer.alloc(0);
  #waiting;

  constructor(url) {
    const { hostname, port } = new URL(url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  // Sends the bytes of a request, and returns status and body of its response.
  send(bytes) {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  #take(chunk) {
    const received = this.#received.length ? Buffer.concat([this.#received, chunk]) : chunk;
    this.#received = received;
    const head = received.indexOf(HEAD_END);
    if (head < 0) return;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(received.latin1Slice(0, head)) ?? [];
    if (length === undefined) return this.#fail(new Error('a response without content-length'));
    const start = head + HEAD_END.length;
    const end = start + Number(length);
    if (received.length < end) return;
    this.#received = received.subarray(end);
    this.#waiting.resolve({ status: Number(received.latin1Slice(STATUS, STATUS + 3)), body: received.subarray(start, end) });
  }

  #fail(error) {
    this.#waiting?.reject(error);
    this.#socket.destroy();
  }
}
