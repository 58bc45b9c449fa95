// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The page that asks for a password: for signing in, and for a link with a password.
///
/// It works without scripts.
struct PasswordPage {
    enum Purpose: Hashable {
        /// Signing in, with a user name if there are any.
        case signIn(hasUserNames: Bool)
        case link
    }

    /// Why the page is shown again.
    enum Complaint: Hashable {
        case wrong
        /// The address guesses.
        case delayed(seconds: Int64)
    }

    var purpose: Purpose
    /// The path to which the form is sent, with the base path.
    var action: String
    /// The path of the directory of the page's files, with the base path.
    var assets: String
    /// Where the visitor wanted to go, without the base path; `nil` to leave it out.
    var target: String?
    /// Why the page is shown again, or `nil`.
    var complaint: Complaint?

    /// Creates the response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - language: The value of `Accept-Language`.
    /// - Returns: The response.
    func response(_ status: Int, language: String?) -> Response {
        var fields: HeaderFields = [
            "Cache-Control": "no-store",
            // Not `no-referrer`: browsers would then submit the form with `Origin: null`, which is refused.
            "Referrer-Policy": "same-origin",
            "Content-Security-Policy":
                "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
                + "frame-ancestors 'none'",
        ]
        if case .delayed(let seconds)? = self.complaint { fields.append("Retry-After", "\(seconds)") }
        var response = Response.page(self.html(.preferred(language)), fields)
        response.status = status
        return response
    }

    private func html(_ texts: PageTexts) -> String {
        let (title, isSignIn, hasNames) =
            switch self.purpose {
            case .signIn(let hasUserNames): (texts.signIn, true, hasUserNames)
            case .link: (texts.link, false, false)
            }
        let complaint =
            switch self.complaint {
            case nil: ""
            case .wrong: texts.wrong
            case .delayed(let seconds): texts.delayed(seconds)
            }
        let alert = complaint.isEmpty ? "" : "<p id=\"complaint\" class=\"bad\" role=\"alert\">\(complaint)</p>\n"
        let name =
            hasNames
            ? "<label class=\"field\"><span>\(texts.user)</span>\n<input id=\"user\" name=\"user\" "
                + "autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\"></label>\n" : ""
        let target = self.target.map { "<input type=\"hidden\" name=\"to\" value=\"\(HTMLText.escape($0))\">\n" } ?? ""
        let described = complaint.isEmpty ? "" : " aria-describedby=\"complaint\""
        let assets = HTMLText.escape(self.assets)
        return """
            <!DOCTYPE html>
            <html lang="\(texts.language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <link rel="icon" href="\(assets)/icon.svg">
            <link rel="stylesheet" href="\(assets)/style.css">
            </head>
            <body>
            <main class="card">
            <img src="\(assets)/icon.svg" width="32" height="32" alt="">
            <h1>\(title)</h1>
            \(alert)<form method="post" action="\(HTMLText.escape(self.action))">
            \(name)<label class="field"><span>\(isSignIn ? texts.passwordOrToken : texts.password)</span>
            <input id="password" name="password" type="password" autocomplete="current-password" required autofocus\(described)></label>
            \(target)<div class="foot"><button class="main" type="submit">\(isSignIn ? texts.signIn : texts.open)</button></div>
            </form>
            </main>
            </body>
            </html>

            """
    }
}

/// The texts of ``PasswordPage`` in one language.
struct PageTexts {
    var language: String
    var signIn: String
    var link: String
    var user: String
    var password: String
    var passwordOrToken: String
    var open: String
    var wrong: String
    private var wait: String

    /// The text for an address that guesses.
    func delayed(_ seconds: Int64) -> String { self.wait.replacing("%", with: "\(seconds)") }

    private static let english = PageTexts(
        language: "en",
        signIn: "Sign in",
        link: "This file has a password",
        user: "User name (leave empty for a token)",
        password: "Password",
        passwordOrToken: "Password or token",
        open: "Download",
        wrong: "That was not right. Try again.",
        wait: "Too many wrong attempts. Try again in % seconds."
    )

    private static let chinese = PageTexts(
        language: "zh",
        signIn: "登录",
        link: "此文件有密码",
        user: "用户名（使用令牌时留空）",
        password: "密码",
        passwordOrToken: "密码或令牌",
        open: "下载",
        wrong: "不正确，请重试。",
        wait: "错误次数过多。请在 % 秒后重试。"
    )

    private static let japanese = PageTexts(
        language: "ja",
        signIn: "サインイン",
        link: "このファイルにはパスワードが必要です",
        user: "ユーザー名（トークンの場合は空欄）",
        password: "パスワード",
        passwordOrToken: "パスワードまたはトークン",
        open: "ダウンロード",
        wrong: "正しくありません。もう一度お試しください。",
        wait: "誤りが多すぎます。% 秒後にもう一度お試しください。"
    )

    /// The texts in the first known language of `Accept-Language`, which browsers send in the order of preference.
    static func preferred(_ field: String?) -> PageTexts {
        for element in (field ?? "").split(separator: ",") {
            switch element.drop(while: { $0 == " " }).prefix(2).lowercased() {
            case "en": return self.english
            case "zh": return self.chinese
            case "ja": return self.japanese
            default: continue
            }
        }
        return self.english
    }
}
