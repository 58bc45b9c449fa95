// SPDX-License-Identifier: Apache-2.0
/// Certificates outside their validity period, from an authority that is valid until 2056; their keys are public, like
/// that of ``TestCertificate/localhost``.
extension TestCertificate {
    /// A certificate for `localhost`, `127.0.0.1` and `::1` that was valid in 2020 only (P-256).
    public static let expired = TestCertificate(
        authorityPEM: Self.expiryAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBzDCCAXGgAwIBAgIBBTAKBggqhkjOPQQDAjAoMSYwJAYDVQQDDB1NYXJ0bGV0
            IHRlc3QgZXhwaXJ5IGF1dGhvcml0eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEw
            MDAwMDBaMBIxEDAOBgNVBAMMB2V4cGlyZWQwWTATBgcqhkjOPQIBBggqhkjOPQMB
            BwNCAAQ0Rbvp4E17vWVXzE2QP5fPOsiR9x7VoXuHqKue2V5FVYrTdHsIyHe9trmu
            mR9Xw1MPGCDlWwF35bhqIaT+tetSo4GhMIGeMAkGA1UdEwQCMAAwDgYDVR0PAQH/
            BAQDAgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMCwGA1UdEQQlMCOCCWxvY2FsaG9z
            dIcEfwAAAYcQAAAAAAAAAAAAAAAAAAAAATAdBgNVHQ4EFgQUDpZuByGoBmultwpu
            MicneG+tsQowHwYDVR0jBBgwFoAUSutKmrzd1lL0RfXxqlpH21rCNAMwCgYIKoZI
            zj0EAwIDSQAwRgIhANVdjTAeAOge0LTY9J2u608Q8sXZvYxeTArmm/kd6384AiEA
            kw8f85Q8E+uOPMxB8wCRj0yFB2c8zNI8hDXmS+P1Ed4=
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg19Hy4vxXDcBef9ce
            aJRghrcxPNmhl5HMWRVU0jBhz96hRANCAAQ0Rbvp4E17vWVXzE2QP5fPOsiR9x7V
            oXuHqKue2V5FVYrTdHsIyHe9trmumR9Xw1MPGCDlWwF35bhqIaT+tetS
            -----END PRIVATE KEY-----

            """
    )

    /// A certificate for `localhost`, `127.0.0.1` and `::1` that is valid in 2055 only (P-256).
    public static let notYetValid = TestCertificate(
        authorityPEM: Self.expiryAuthority,
        certificatePEM: """
            -----BEGIN CERTIFICATE-----
            MIIBzjCCAXOgAwIBAgIBBjAKBggqhkjOPQQDAjAoMSYwJAYDVQQDDB1NYXJ0bGV0
            IHRlc3QgZXhwaXJ5IGF1dGhvcml0eTAiGA8yMDU1MDEwMTAwMDAwMFoYDzIwNTYw
            MTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVlYXJseTBZMBMGByqGSM49AgEGCCqGSM49
            AwEHA0IABMt+F+PDw14TZgdWbnUc8Z0k6LefYqZ6deEnnzA2bB4YyjIMBPsQ/6oQ
            E2boLFk9tIt94P9ncg3363N2jMMXrbSjgaEwgZ4wCQYDVR0TBAIwADAOBgNVHQ8B
            Af8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwEwLAYDVR0RBCUwI4IJbG9jYWxo
            b3N0hwR/AAABhxAAAAAAAAAAAAAAAAAAAAABMB0GA1UdDgQWBBTgyZmySydPk91C
            Nn2xNXSINI5NDDAfBgNVHSMEGDAWgBRK60qavN3WUvRF9fGqWkfbWsI0AzAKBggq
            hkjOPQQDAgNJADBGAiEA3s/WZzfn6iX8DfDLzW0l8yx6Fye7zAlGnOrXaYN2YsAC
            IQCTjqPflMl5cE5Fa6ncg2Ap79G+16xNjbmAJfjXYbH8kg==
            -----END CERTIFICATE-----

            """,
        keyPEM: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxJjkMZVOF7sn4LOq
            BaYl2ACxXvpTkQJI6bngiqbylv2hRANCAATLfhfjw8NeE2YHVm51HPGdJOi3n2Km
            enXhJ58wNmweGMoyDAT7EP+qEBNm6CxZPbSLfeD/Z3IN9+tzdozDF620
            -----END PRIVATE KEY-----

            """
    )

    private static let expiryAuthority = """
        -----BEGIN CERTIFICATE-----
        MIIBgzCCASmgAwIBAgIBBzAKBggqhkjOPQQDAjAoMSYwJAYDVQQDDB1NYXJ0bGV0
        IHRlc3QgZXhwaXJ5IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMDU2MDEw
        MTAwMDAwMFowKDEmMCQGA1UEAwwdTWFydGxldCB0ZXN0IGV4cGlyeSBhdXRob3Jp
        dHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARpQ5oFnoK3VqulJ31opir2ArLi
        aYgrtfYFftGTawxCBkpJ13aa0AEtr9UNHDivHApU0O1L0wT1711+OwWlk7Fao0Iw
        QDAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4EFgQUSutK
        mrzd1lL0RfXxqlpH21rCNAMwCgYIKoZIzj0EAwIDSAAwRQIgcd20DvjegD5hIGtP
        mDMYw6Ny5vY+sb9dTnDU5vlc90sCIQCiqhQFlFyCTdasJ14OPvvwk4KsRnrZjmEW
        guIzAvsC0A==
        -----END CERTIFICATE-----

        """
}
