// SPDX-License-Identifier: Apache-2.0
/// More certificates for tests, from a separate authority; their keys are public, like that of
/// ``TestCertificate/localhost``.
extension TestCertificate {
    /// A certificate for the host `elsewhere.test` only (P-256, valid until 2056).
    public static let elsewhere = TestCertificate(
        authorityPEM: Self.otherAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBwTCCAWegAwIBAgIBBDAKBggqhkjOPQQDAjAoMSYwJAYDVQQDDB1NYXJ0bGV0
            IHRlc3QgY2xpZW50IGF1dGhvcml0eTAgFw0yNjExMjExOTI4NTNaGA8yMDU2MTEx
            MzE5Mjg1M1owGTEXMBUGA1UEAwwOZWxzZXdoZXJlLnRlc3QwWTATBgcqhkjOPQIB
            BggqhkjOPQMBBwNCAARduD0D2U8szgdh4mWeHHODJ7AEa87k/QVaF3EsoBCCZGCS
            hQ9t+K/vCaLw80GFojap3HojISbIlzP8s9M0p9aio4GOMIGLMAkGA1UdEwQCMAAw
            DgYDVR0PAQH/BAQDAgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMBkGA1UdEQQSMBCC
            DmVsc2V3aGVyZS50ZXN0MB0GA1UdDgQWBBTj7kEFVr7vryXdtVUcbyWEqvNM8DAf
            BgNVHSMEGDAWgBR/ynf2lnWbA0z2g4tBWP2WBbL4KjAKBggqhkjOPQQDAgNIADBF
            AiAJ6hs+uvpp44nK2OrNCsa+RrSeiHsxlvloeNcP9hjtngIhAKWd+pbJUtYoJ2sh
            VnsTSXEQ2igovWwTcdX2Y6bFPKTR
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNnv1H4SKSXWoI2Kc
            AnikXOfGFwR1hBN2ckb49XAneR+hRANCAARduD0D2U8szgdh4mWeHHODJ7AEa87k
            /QVaF3EsoBCCZGCShQ9t+K/vCaLw80GFojap3HojISbIlzP8s9M0p9ai
            -----END PRIVATE KEY-----

            """
    )

    /// A client's certificate (P-256, valid until 2056); a server must trust `authorityPEM`.
    public static let client = TestCertificate(
        authorityPEM: Self.otherAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBqTCCAU+gAwIBAgIBAzAKBggqhkjOPQQDAjAoMSYwJAYDVQQDDB1NYXJ0bGV0
            IHRlc3QgY2xpZW50IGF1dGhvcml0eTAgFw0yNjExMjExOTI4NTNaGA8yMDU2MTEx
            MzE5Mjg1M1owHjEcMBoGA1UEAwwTbWFydGxldCB0ZXN0IGNsaWVudDBZMBMGByqG
            SM49AgEGCCqGSM49AwEHA0IABGDQsNXG7ipQ5gq7HuA+wfk4iZOifyknY8VykrGR
            0Kym68zpgh+Ao8Oh1VdtLPJTc+GPHT2TE4Kl37UUaoZs6LmjcjBwMAkGA1UdEwQC
            MAAwDgYDVR0PAQH/BAQDAgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMCMB0GA1UdDgQW
            BBQBYnDc/LttI/zrlDDyTMNovnoS1DAfBgNVHSMEGDAWgBR/ynf2lnWbA0z2g4tB
            WP2WBbL4KjAKBggqhkjOPQQDAgNIADBFAiEA0vJ+Vy7XCF6OkUIhm/ec0BThu6K1
            DdpGW2n1vqMIzkwCIHdvTn2R9psNzTN9VZNELBNWZ13ymsQGTf6ykdZW607k
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbTTr1AGVxrCelWiv
            bg4h0yqfGWrnEMlz5AXGeyOwOV+hRANCAARg0LDVxu4qUOYKux7gPsH5OImTon8p
            J2PFcpKxkdCspuvM6YIfgKPDodVXbSzyU3Phjx09kxOCpd+1FGqGbOi5
            -----END PRIVATE KEY-----

            """
    )

    /// The client's private key, encrypted with the passphrase `open-sesame`.
    public static let encryptedClientKeyPEM = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj0fvfqvWOg+AICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDXX8cCSwA3RRNiffbsa4v8EgZCC
        sl18zO9NLQgku7Zf6JgTCfRoCNfBtXW3T9v3cN8c7mmnBZ71o/PqVz7dg6lBWTSo
        gDdph2pGJ7+qNGnPlG4uRInwo8qOkOpoE91HilkYR3z0SLMdoE34xUq4a5WlctZe
        RfrRqvsB89LaiAd+YvVzifgbVaD3z4B11rJ/0nlX3WckuK/PrhQPj7C877gGxcQ=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    private static let otherAuthority = """
        -----BEGIN CERTIFICATE-----
        MIIBtjCCAV2gAwIBAgIUd19n8N1QK21+cBG2ATLB11Qy5m8wCgYIKoZIzj0EAwIw
        KDEmMCQGA1UEAwwdTWFydGxldCB0ZXN0IGNsaWVudCBhdXRob3JpdHkwIBcNMjYx
        MTIxMTkyODUzWhgPMjA1NjExMTMxOTI4NTNaMCgxJjAkBgNVBAMMHU1hcnRsZXQg
        dGVzdCBjbGllbnQgYXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
        sN37D+dC1jTdSZEt91x78rtmOE+34rQDa4e2qWHft2WK6PmnGTw9oxW53lzkK0KU
        qbHlswSlxQhqk3wajrgkuqNjMGEwHQYDVR0OBBYEFH/Kd/aWdZsDTPaDi0FY/ZYF
        svgqMB8GA1UdIwQYMBaAFH/Kd/aWdZsDTPaDi0FY/ZYFsvgqMA8GA1UdEwEB/wQF
        MAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMCA0cAMEQCIFMAxcupX8VY
        h7q4XUZ+mQkZdukE/BPYHYzEA4unylLgAiBfGhlY9yNMJjWyqzWLevruixuxZyg0
        93jpT+NUK6JsYA==
        -----END CERTIFICATE-----

        """
}
