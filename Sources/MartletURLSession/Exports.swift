// SPDX-License-Identifier: Apache-2.0
// `import MartletURLSession` replaces `import FoundationNetworking`: the values that both use (requests, responses, cookies,
// credentials, caches) are Foundation's own, and this module's types take precedence over Foundation's of the same name.
#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#endif
