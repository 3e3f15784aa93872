import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** A certificate of nobody, for servers of tests on this machine: `localhost`, `127.0.0.1` and `provider.test`. */
export const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBsjCCAVigAwIBAgIUZcDBvBvHMCiU1BLqYCB9hm0scPAwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNa2V5d2hlZWwgdGVzdDAgFw0yNjExMzAwNDA1MThaGA8yMTI2
MTEwNjA0MDUxOFowGDEWMBQGA1UEAwwNa2V5d2hlZWwgdGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABAQIPcPQwHYeGm9+XkmxJ4bT6YmJr+52osSk/SmK7T+X
we6Y6ikP77ZEj5W7KVMayg7CogH67txM17d61RAlmAajfjB8MB0GA1UdDgQWBBS/
7EizW4UeOwiHxghZLhEu5JJIUjAfBgNVHSMEGDAWgBS/7EizW4UeOwiHxghZLhEu
5JJIUjApBgNVHREEIjAggg1wcm92aWRlci50ZXN0gglsb2NhbGhvc3SHBH8AAAEw
DwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA/8nF3wzTVyRWXq0T
C/GptKf05hmWf+yS/2buHX711oICIDcGmKP+kF6wGaF0saSKxHO9/kXIKenIMmMz
ZWkLbW4/
-----END CERTIFICATE-----
`;

/** Its key, which protects nothing. */
export const testCertificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjf/cvYMlID0luhy8
c8w7AcEHMN6JLawqnnw/enp3Z4mhRANCAAQECD3D0MB2Hhpvfl5JsSeG0+mJia/u
dqLEpP0piu0/l8HumOopD++2RI+VuylTGsoOwqIB+u7cTNe3etUQJZgG
-----END PRIVATE KEY-----
`;

/** Has this process trust the certificate. @returns how to stop that */
export function trustTestCertificate(): () => void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, testCertificate]);
  return () => setDefaultCACertificates(before);
}
