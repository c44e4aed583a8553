import Foundation
import Testing

@testable import Listeners

@Suite("Files for browsers")
struct StaticSiteTests {
    private let site = StaticSite(
        folder: "pages",
        files: [
            StaticSite.File(name: "index.html", bytes: Array("<!doctype html>".utf8), policy: "default-src 'none'"),
            StaticSite.File(name: "app.js", bytes: Array("1".utf8), policy: "default-src 'self'"),
        ]
    )

    private func get(_ target: String, method: String = "GET", knownTags: [String] = []) -> StaticSite.Answer? {
        site.answer(method: method, target: target, knownTags: knownTags)
    }

    @Test func onlyTheSitesFolderIsServed() {
        for target in [
            "/", "", "*", "/other", "/pages.json", "/app.js", "/pages/deeper/app.js", "pages", "/?x=/pages/",
        ] {
            #expect(get(target) == nil, "\(target)")
        }
        for target in ["/pages/", "/pages/?x=1", "/before/pages/", "/pages/index.html", "/pages/app.js?v=2"] {
            #expect(get(target)?.status == 200, "\(target)")
        }
    }

    @Test func withoutASlashItRedirectsRelatively() {
        let answer = get("/before/pages?x=1")
        #expect(answer?.status == 308)
        #expect(answer?["location"] == "pages/")
    }

    @Test func otherFilesAreNotFound() {
        for target in ["/pages/none.js", "/pages/../app.js/", "/pages/%2e%2e", "/pages/app.js%00"] {
            #expect(get(target)?.status != 200, "\(target)")
        }
        #expect(get("/pages/none.js")?.status == 404)
    }

    @Test func everyAnswerHasItsHeaders() {
        let page = get("/pages/")
        #expect(page?["content-type"] == "text/html; charset=utf-8")
        #expect(page?["content-security-policy"] == "default-src 'none'")
        #expect(page?["cache-control"] == "no-cache")
        for answer in [page, get("/pages"), get("/pages/none"), get("/pages/", method: "POST")] {
            #expect(answer?["x-content-type-options"] == "nosniff")
            #expect(answer?["x-frame-options"] == "DENY")
            #expect(answer?["referrer-policy"] == "no-referrer")
            #expect(answer?["access-control-allow-origin"] == nil)
        }
        #expect(get("/pages/app.js")?["content-type"] == "text/javascript; charset=utf-8")
    }

    @Test func knownFilesAreNotSentAgain() throws {
        let page = try #require(get("/pages/"))
        let tag = try #require(page["etag"])
        #expect(tag.hasPrefix("\"") && tag != get("/pages/app.js")?["etag"])
        for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
            let answer = get("/pages/", knownTags: [known])
            #expect(answer?.status == 304, "\(known)")
            #expect(answer?.body == nil && answer?["etag"] == tag)
        }
        #expect(get("/pages/", knownTags: ["\"other\""])?.status == 200)
        #expect(get("/pages/", knownTags: [String(tag.dropLast())])?.status == 200)
    }

    @Test func onlyGETAndHEADAreAllowed() {
        let head = get("/pages/", method: "HEAD")
        #expect(head?.status == 200 && head?.isHeadAlone == true)
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
            let answer = get("/pages/", method: method)
            #expect(answer?.status == 405, "\(method)")
            #expect(answer?["allow"] == "GET, HEAD")
        }
        #expect(get("/other", method: "POST") == nil)
    }
}

extension StaticSite.Answer {
    subscript(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

@Suite("The pages /me and /console")
struct APIPagesTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Sources/HTTP/BrowserPages")

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: sources.appendingPathComponent(folder).path).sorted())
            ?? []
    }

    private func answer(_ target: String) -> StaticSite.Answer? {
        APIPages.all.lazy.compactMap { $0.answer(method: "GET", target: target, knownTags: []) }.first
    }

    private func text(_ target: String) throws -> String {
        String(decoding: try #require(answer(target)?.body), as: UTF8.self)
    }

    @Test(arguments: ["me": "Me", "console": "Console"])
    func everyFileIsServedUnchanged(_ page: String, _ folder: String) throws {
        let names = Self.names(in: folder).filter { $0 != "console.css" }
        #expect(names.count > 4)
        for name in names {
            let served = try #require(self.answer("/\(page)/\(name)"), "\(name)")
            let file = try Data(contentsOf: Self.sources.appendingPathComponent(folder).appendingPathComponent(name))
            #expect(served.status == 200 && served.body == Array(file), "\(name)")
        }
        let style = try text("/console/style.css")
        let parts = try ["Subscribe/style.css", "Console/console.css"]
            .map { try String(contentsOf: Self.sources.appendingPathComponent($0), encoding: .utf8) }
        #expect(style == parts.joined())
    }

    /// Pages have no inline code, load only their own files, and never turn strings into markup. All imports exist.
    @Test(arguments: ["me": "me.js", "console": "console.js"])
    func pagesReferenceExistingFiles(_ page: String, _ first: String) throws {
        let document = try text("/\(page)/")
        #expect(document.contains("src=\"\(first)\""))
        for found in document.matches(of: /(?:src|href)="([^"#][^"]*)"/) {
            #expect(answer("/\(page)/\(found.1)")?.status == 200, "\(found.1)")
        }
        #expect(document.firstMatch(of: /<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=/) == nil)
        var (open, seen) = ([first], Set<String>())
        while let name = open.popLast() {
            guard seen.insert(name).inserted else { continue }
            let script = try text("/\(page)/\(name)")
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                #expect(!script.contains(word), "\(name): \(word)")
            }
            open += script.matches(of: /from "\.\/([^"]+)"/).map { String($0.1) }
        }
        #expect(seen.count > 5)
    }

    @Test func policyAllowsOnlyOwnResources() throws {
        for page in ["me", "console"] {
            let policy = try #require(answer("/\(page)/")?["content-security-policy"])
            for part in [
                "default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'",
                "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types",
                page == "me" ? "connect-src 'self' wss:" : "connect-src 'self'",
            ] {
                #expect(policy.components(separatedBy: "; ").contains(part), "\(part)")
            }
            #expect(!policy.contains("unsafe") && !policy.contains("*"))
        }
    }

    /// The API has paths with the same endings.
    @Test func otherPathsAreNotServed() {
        for target in ["/v1/me", "/v1/me/devices", "/x/me/", "/me/x/y", "/", "/v1/console/", "/api/me/"] {
            #expect(answer(target) == nil, "\(target)")
        }
        #expect(answer("/me")?["location"] == "me/" && answer("/console?x=1")?["location"] == "console/")
        #expect(answer("/console/none.js")?.status == 404)
    }
}

@Suite("The page /subscribe")
struct SubscribePageTests {
    private func answer(_ name: String, socketURL: String = "", page: SubscribePage? = nil) throws -> StaticSite.Answer
    {
        let site = try (page ?? SubscribePage(app: "default")).site(socketURL: socketURL)
        return try #require(site.answer(method: "GET", target: "/subscribe/" + name, knownTags: []))
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try #require(try answer(name).body), as: UTF8.self)
    }

    /// The files of the folder: added files must be embedded as well.
    private static let files: [String] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/HTTP/BrowserPages/Subscribe")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? []
    }()

    @Test func everyFileIsServedUnchanged() throws {
        #expect(Self.files.count > 10)
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/HTTP/BrowserPages/Subscribe")
        for name in Self.files {
            let answer = try answer(name)
            #expect(answer.status == 200, "\(name)")
            #expect(answer.body == Array(try Data(contentsOf: folder.appendingPathComponent(name))), "\(name)")
            #expect(answer["content-type"] != "application/octet-stream", "\(name)")
        }
    }

    @Test func pageHasNoInlineScriptsAndNoExternalResources() throws {
        let page = try text("index.html")
        for found in page.matches(of: /(?:src|href)="([^"]*)"/) {
            let target = String(found.1)
            #expect(target.hasPrefix("#") || Self.files.contains(target), "\(target)")
        }
        #expect(page.firstMatch(of: /<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=/) == nil)
        for name in Self.files where name.hasSuffix(".js") {
            let script = try text(name)
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                #expect(!script.contains(word), "\(name): \(word)")
            }
        }
    }

    @Test func policyAllowsOnlyOwnResources() throws {
        let policy = try #require(try answer("")["content-security-policy"])
        for part in [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
            "form-action 'none'", "require-trusted-types-for 'script'",
        ] {
            #expect(policy.components(separatedBy: "; ").contains(part), "\(part)")
        }
        #expect(!policy.contains("unsafe") && !policy.contains("*"))
        #expect(try answer("worker.js")["content-security-policy"]?.contains("script-src 'self'") == true)
        #expect(try answer("page.js")["content-security-policy"]?.contains("script-src") == false)
    }

    @Test(arguments: [
        ("wss://notify.example.com", " wss://notify.example.com wss:;"),
        ("ws://127.0.0.1:7447", " ws://127.0.0.1:7447 wss:;"),
        ("wss://notify.example.com/path", " wss://notify.example.com wss:;"), ("", "connect-src 'self' wss:;"),
        ("wss://a.example;script-src *", "connect-src 'self' wss:;"),
        ("https://a.example", "connect-src 'self' wss:;"),
    ])
    func theSocketMayBeReached(_ url: String, _ expected: String) throws {
        let policy = try #require(try answer("", socketURL: url)["content-security-policy"])
        #expect(policy.contains(expected))
        let worker = try answer("worker.js", socketURL: url)["content-security-policy"]
        #expect(worker?.contains(expected.dropLast()) == true)
        #expect(policy.components(separatedBy: "script-src").count == 2)
    }

    @Test func pageSettingsMatchTheConfiguration() throws {
        var page = SubscribePage(app: "web")
        page.client = "https://app.example.com/{nevent}"
        let answer = try answer("settings.json", page: page)
        let body = try #require(answer.body)
        let settings = try JSONDecoder().decode([String: String].self, from: Data(body))
        #expect(
            settings == ["app": "web", "topic_server": "https://ntfy.sh", "client": "https://app.example.com/{nevent}"]
        )
        #expect(answer["content-type"] == "application/json")
    }

    /// Both languages have the same strings, with the same placeholders.
    @Test func everyTextHasBothLanguages() throws {
        let script = try text("texts.js")
        let parts = script.components(separatedBy: "\n  de: {")
        let (english, german) = (Self.texts(parts[0]), Self.texts(try #require(parts.last)))
        #expect(english.count > 100)
        #expect(Set(english.keys) == Set(german.keys))
        for (key, places) in english { #expect(german[key] == places, "\(key)") }
        for found in try text("index.html").matches(of: /data-text="([^"]*)"/) {
            #expect(english[String(found.1)] != nil, "\(found.1)")
        }
    }

    /// Returns the placeholders of each string, by its key.
    private static func texts(_ script: String) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for line in script.matches(of: /\n    ([A-Za-z_0-9]+): (.*)/) {
            found[String(line.1)] = Set(line.2.matches(of: /\{([a-z]+)\}/).map { String($0.1) })
        }
        return found
    }
}
