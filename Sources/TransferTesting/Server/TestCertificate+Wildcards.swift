// SPDX-License-Identifier: Apache-2.0
/// Certificates with wildcards that match no host, from an authority of their own; their keys are public, like that of
/// ``TestCertificate/localhost``.
extension TestCertificate {
    /// A certificate for `*` only (P-256, valid until 2056).
    public static let everyName = TestCertificate(
        authorityPEM: Self.wildcardAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBsjCCAVigAwIBAgICeiswCgYIKoZIzj0EAwIwKjEoMCYGA1UEAwwfTWFydGxl
            dCB0ZXN0IHdpbGRjYXJkIGF1dGhvcml0eTAgFw0yNjExMjUyMzM1MjhaGA8yMDU2
            MTExNzIzMzUyOFowFTETMBEGA1UEAwwKZXZlcnl0aGluZzBZMBMGByqGSM49AgEG
            CCqGSM49AwEHA0IABD7o9nM6L/HYev5raFyxxjwbX8otMC2f4VgJf5IobrgKB22r
            D32CatqdcgaJkK1X5bdatq2riZ8byXDqnBeBvW+jgYAwfjAJBgNVHRMEAjAAMA4G
            A1UdDwEB/wQEAwIHgDATBgNVHSUEDDAKBggrBgEFBQcDATAMBgNVHREEBTADggEq
            MB0GA1UdDgQWBBRQ06d8yziM0xUEIp0g1puY2kVFbDAfBgNVHSMEGDAWgBQHYC8l
            kNta/y5Tg0KQ7Kr851HzaDAKBggqhkjOPQQDAgNIADBFAiAWhlz0L4WkAQU1tKnF
            oxUreM2fSHDJGp4L218yVc/0ggIhALYCa25GKsylw0GYDqbSNcP9zIyZhZ0IOzoJ
            Sq1KS7/M
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjADpiSo+eV12Uwbm
            FIZPHDivMlWK6RbQTvy4D6JWwzahRANCAAQ+6PZzOi/x2Hr+a2hcscY8G1/KLTAt
            n+FYCX+SKG64Cgdtqw99gmranXIGiZCtV+W3Wratq4mfG8lw6pwXgb1v
            -----END PRIVATE KEY-----

            """
    )

    /// A certificate with the common name `*` and no subjectAltName (P-256, valid until 2056).
    public static let everyCommonName = TestCertificate(
        authorityPEM: Self.wildcardAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBmTCCAUCgAwIBAgICbsIwCgYIKoZIzj0EAwIwKjEoMCYGA1UEAwwfTWFydGxl
            dCB0ZXN0IHdpbGRjYXJkIGF1dGhvcml0eTAgFw0yNjExMjUyMzM1MjhaGA8yMDU2
            MTExNzIzMzUyOFowDDEKMAgGA1UEAwwBKjBZMBMGByqGSM49AgEGCCqGSM49AwEH
            A0IABH13wcFqwvtYv0dxgTJLSwoBIS9J+Jq0uuIN/EzhBQR6RSa/1nMVBUVgUYts
            Gu889P3WUjukT2KLVq6T2LeoPMOjcjBwMAkGA1UdEwQCMAAwDgYDVR0PAQH/BAQD
            AgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBT1gW6tgpIUw74PceHl
            pFetMroAfjAfBgNVHSMEGDAWgBQHYC8lkNta/y5Tg0KQ7Kr851HzaDAKBggqhkjO
            PQQDAgNHADBEAiADgDsQ80nANi/8tQNhlK0P+Rcd2vroD3cA7qEkZDBZtgIgXFqI
            h0xWtl7ScHsjnYaFOgC0D3gk0C7cWwLsLO73/WQ=
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfF0OrKgVaruUEKDu
            2cn959CrsE1/vGMaohTfqxBvPDKhRANCAAR9d8HBasL7WL9HcYEyS0sKASEvSfia
            tLriDfxM4QUEekUmv9ZzFQVFYFGLbBrvPPT91lI7pE9ii1auk9i3qDzD
            -----END PRIVATE KEY-----

            """
    )

    /// A certificate for `*.test` and `l*calhost` (P-256, valid until 2056).
    public static let partialWildcard = TestCertificate(
        authorityPEM: Self.wildcardAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBvzCCAWWgAwIBAgICI2UwCgYIKoZIzj0EAwIwKjEoMCYGA1UEAwwfTWFydGxl
            dCB0ZXN0IHdpbGRjYXJkIGF1dGhvcml0eTAgFw0yNjExMjUyMzM1MjhaGA8yMDU2
            MTExNzIzMzUyOFowETEPMA0GA1UEAwwGZG90dGVkMFkwEwYHKoZIzj0CAQYIKoZI
            zj0DAQcDQgAEeco2eVsMXVPnwpV7fpxVIJ0WfUyjslFEH16KgHWVkwbrI52tzFj5
            p0KZ4oRxzJkURPLtf8ZfpVRaNUpEMBk6W6OBkTCBjjAJBgNVHRMEAjAAMA4GA1Ud
            DwEB/wQEAwIHgDATBgNVHSUEDDAKBggrBgEFBQcDATAcBgNVHREEFTATggYqLnRl
            c3SCCWwqY2FsaG9zdDAdBgNVHQ4EFgQUVqcG/+huYOFrOwQVZfNP4pYS2+swHwYD
            VR0jBBgwFoAUB2AvJZDbWv8uU4NCkOyq/OdR82gwCgYIKoZIzj0EAwIDSAAwRQIg
            IE+8Wk/EyWrXBn6ehDspIjeiLZfqW1RTlsDG3gFNWpICIQDhG05qlsP0ZEHDD7cr
            nyJr6Arntn767ZpRelz7XznZ0A==
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+JKYMIOOVQEfI0f8
            rFey65bVT3wvFOOum6soMk+ajaihRANCAAR5yjZ5WwxdU+fClXt+nFUgnRZ9TKOy
            UUQfXoqAdZWTBusjna3MWPmnQpnihHHMmRRE8u1/xl+lVFo1SkQwGTpb
            -----END PRIVATE KEY-----

            """
    )

    /// A certificate with the common name `localhost` and no subjectAltName (P-256, valid until 2056).
    public static let commonName = TestCertificate(
        authorityPEM: Self.wildcardAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBojCCAUigAwIBAgICLDwwCgYIKoZIzj0EAwIwKjEoMCYGA1UEAwwfTWFydGxl
            dCB0ZXN0IHdpbGRjYXJkIGF1dGhvcml0eTAgFw0yNjExMjUyMzM1MjhaGA8yMDU2
            MTExNzIzMzUyOFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYI
            KoZIzj0DAQcDQgAEVegnWI0OmkeJw37AGRegRKm3w/8RkUQcNWDdyNfOEIbeAaQS
            P8uCD7MdI+jj54PQKCCHAl1Chr8dcQpah//iEqNyMHAwCQYDVR0TBAIwADAOBgNV
            HQ8BAf8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFPiyNiUv
            GtboR2V17NsnblA7+aysMB8GA1UdIwQYMBaAFAdgLyWQ21r/LlODQpDsqvznUfNo
            MAoGCCqGSM49BAMCA0gAMEUCIGnyjPE1YYxV8O3KJb8sddtGw8Gu/njOXdNHUPMJ
            xDt3AiEAz2Y0vU4OoYAUMj4oyD2YfmGxChqbMa9Y2MhqNjAlETY=
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+WkKRMl3De4NmsTB
            3ApS+Z55Q8PFMl8I9+MNrQnwmcmhRANCAARV6CdYjQ6aR4nDfsAZF6BEqbfD/xGR
            RBw1YN3I184Qht4BpBI/y4IPsx0j6OPng9AoIIcCXUKGvx1xClqH/+IS
            -----END PRIVATE KEY-----

            """
    )

    private static let wildcardAuthority = """
        -----BEGIN CERTIFICATE-----
        MIIBuzCCAWGgAwIBAgIUIWwZl8NmsZeHoMNf1NazG07jS5QwCgYIKoZIzj0EAwIw
        KjEoMCYGA1UEAwwfTWFydGxldCB0ZXN0IHdpbGRjYXJkIGF1dGhvcml0eTAgFw0y
        NjExMjUyMzM1MjdaGA8yMDU2MTExNzIzMzUyN1owKjEoMCYGA1UEAwwfTWFydGxl
        dCB0ZXN0IHdpbGRjYXJkIGF1dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABN3DaBseksl0h/YbmMt/KQECUqASuqOoyVQgirCS+hAtF0d7BQNBfDP8FHrt
        P7WsJSEA3EVO5AtJBwpcR6CQsNyjYzBhMB0GA1UdDgQWBBQHYC8lkNta/y5Tg0KQ
        7Kr851HzaDAfBgNVHSMEGDAWgBQHYC8lkNta/y5Tg0KQ7Kr851HzaDAPBgNVHRMB
        Af8EBTADAQH/MA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQDAgNIADBFAiEA+5ie
        TyCRBqiJsaE4d7/3/5fLjZeQ5Jq3L1cTJmETS7ACIHCmz3ZB7+oW/hNLIE3VB9xC
        5GmoDyo+IItZ73YODPxa
        -----END CERTIFICATE-----

        """
}
