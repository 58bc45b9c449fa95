// SPDX-License-Identifier: Apache-2.0
/// A certificate and its key for servers on this machine, signed by an authority that is only trusted by tests.
///
/// Compiled in, so that tests need no `openssl`. The key is public and protects nothing.
public struct TestCertificate: Sendable {
    /// The authority's certificate, in PEM, which a client must trust.
    public let authorityPEM: String
    /// The server's certificate, in PEM.
    public let certificatePEM: String
    /// The server's private key, in PEM (PKCS #8).
    public let keyPEM: String

    /// The SHA-256 of the public key of ``localhost``, in Base64 (RFC 7469).
    public static let localhostPin = "byTidqul7pS7ymJMCKGejT5Nv91AeCt1T1mbX1dIDVI="

    /// A certificate for `localhost`, `127.0.0.1` and `::1` (P-256, valid until 2056).
    public static let localhost = TestCertificate(
        authorityPEM: """
            -----BEGIN CERTIFICATE-----
            MIIBdTCCARugAwIBAgIBATAKBggqhkjOPQQDAjAhMR8wHQYDVQQDDBZNYXJ0bGV0
            IHRlc3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIwNTYwMTAxMDAwMDAw
            WjAhMR8wHQYDVQQDDBZNYXJ0bGV0IHRlc3QgYXV0aG9yaXR5MFkwEwYHKoZIzj0C
            AQYIKoZIzj0DAQcDQgAEoxeFNSYpEIJr/u/wRUVLuJ1Rvu/oqLoIKEwu1U6R9fj5
            ZhJR+nXMhgr5Q0LEUj5gaNtlSngHjyPWxkOTRAGpt6NCMEAwDwYDVR0TAQH/BAUw
            AwEB/zAOBgNVHQ8BAf8EBAMCAQYwHQYDVR0OBBYEFF/LNdrhwyP6kG70vybnphTC
            bpNfMAoGCCqGSM49BAMCA0gAMEUCIQC1U9jJrwleeXeK5hpF/Ylys2zJx1kQgcXS
            HgXr1u/XNgIgNfzaiXg4WL2kNMj5rp9SDEhaolm/LMQ8CVhUdok3ThY=
            -----END CERTIFICATE-----

            """,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIByDCCAW6gAwIBAgIBAjAKBggqhkjOPQQDAjAhMR8wHQYDVQQDDBZNYXJ0bGV0
            IHRlc3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIwNTYwMTAxMDAwMDAw
            WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
            AARTkmOgUaNpwO82Qpar4GXBFG04xCmRYWmBOCrINsFTQHixODNwmpgg6hYXuPAD
            hTgFT0quAiTPWew1yTFGve1qo4GhMIGeMAkGA1UdEwQCMAAwDgYDVR0PAQH/BAQD
            AgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMCwGA1UdEQQlMCOCCWxvY2FsaG9zdIcE
            fwAAAYcQAAAAAAAAAAAAAAAAAAAAATAdBgNVHQ4EFgQUg6JUXWNKeAejlJbU9pTW
            IZTcqWgwHwYDVR0jBBgwFoAUX8s12uHDI/qQbvS/JuemFMJuk18wCgYIKoZIzj0E
            AwIDSAAwRQIgHrctTdDKEVSQiHKIeRCSt3bfqYdp2v/v07Odh/BGsEYCIQCMz4tQ
            hi5VO6M2PbMAdMQr1xEBBst5JtsmswLJ6vR12A==
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpsBo0QlNzF3X6t6r
            hsFS97+Hzm50yuYTTfvOx9SlMQehRANCAARTkmOgUaNpwO82Qpar4GXBFG04xCmR
            YWmBOCrINsFTQHixODNwmpgg6hYXuPADhTgFT0quAiTPWew1yTFGve1q
            -----END PRIVATE KEY-----

            """
    )
}
