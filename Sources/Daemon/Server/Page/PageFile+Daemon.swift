// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer

extension PageFile {
    /// The daemon's page.
    static let daemon =
        PageFile.shared(in: "/page") + [
            PageFile("/page/add.js", PackageResources.add_js),
            PageFile("/page/app.js", PackageResources.app_js),
            PageFile("/page/client.js", PackageResources.client_js),
            PageFile("/page/daemon.css", PackageResources.daemon_css),
            PageFile("/page/details.js", PackageResources.details_js),
            PageFile("/page/dialogs.js", PackageResources.dialogs_js),
            PageFile("/page/drag.js", PackageResources.drag_js),
            PageFile("/page/events.js", PackageResources.events_js),
            PageFile("/page/icons.js", PackageResources.icons_js),
            PageFile("/page/list.js", PackageResources.list_js),
            PageFile("/page/plot.js", PackageResources.plot_js),
            PageFile("/page/rows.js", PackageResources.rows_js),
            PageFile("/page/strings.en.js", PackageResources.strings_en_js),
            PageFile("/page/strings.ja.js", PackageResources.strings_ja_js),
            PageFile("/page/strings.zh.js", PackageResources.strings_zh_js),
            PageFile("/page/transfer.js", PackageResources.transfer_js),
            PageFile("/", PackageResources.index_html),
        ]
}
