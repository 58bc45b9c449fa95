// SPDX-License-Identifier: Apache-2.0
/// Recognizes programs that fetch a link to show a preview of it.
enum LinkPreview {
    /// Parts of their `User-Agent`, in lower case.
    private static let names = [
        "facebookexternalhit", "facebot", "whatsapp", "telegrambot", "twitterbot", "slackbot", "slack-imgproxy",
        "discordbot", "linkedinbot", "skypeuripreview", "redditbot", "pinterestbot", "vkshare", "viber",
        "mattermost", "rocket.chat", "synapse", "signal-desktop", "googlebot", "bingbot", "bingpreview", "applebot",
        "embedly", "iframely", "bitlybot", "mastodon", "pleroma", "misskey", "lemmy", "google-pagerenderer",
    ]

    /// Whether a `User-Agent` is that of such a program.
    static func isUserAgent(_ field: String?) -> Bool {
        guard let field = field?.lowercased() else { return false }
        return self.names.contains { field.contains($0) }
    }
}
