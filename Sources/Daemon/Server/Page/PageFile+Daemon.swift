// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer

extension PageFile {
    /// The daemon's page.
    static let daemon =
        PageFile.shared(in: "/page") + [
            PageFile("/page/app.js", PackageResources.app_js),
            PageFile("/page/client.js", PackageResources.client_js),
            PageFile("/page/dialogs.js", PackageResources.dialogs_js),
            PageFile("/page/daemon.css", PackageResources.daemon_css),
            PageFile("/page/list.js", PackageResources.list_js),
            PageFile("/page/strings.en.js", PackageResources.strings_en_js),
            PageFile("/page/strings.ja.js", PackageResources.strings_ja_js),
            PageFile("/page/strings.zh.js", PackageResources.strings_zh_js),
            PageFile("/", PackageResources.index_html),
        ]
}
