import Foundation
import Testing

@testable import BrowserPages

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

    /// Those of the folder: what is added there must be embedded as well.
    private static let files: [String] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/Ingress/BrowserPages/Subscribe")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? []
    }()

    @Test func everyFileIsServedAsItIs() throws {
        #expect(Self.files.count > 10)
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/Ingress/BrowserPages/Subscribe")
        for name in Self.files {
            let answer = try answer(name)
            #expect(answer.status == 200, "\(name)")
            #expect(answer.body == Array(try Data(contentsOf: folder.appendingPathComponent(name))), "\(name)")
            #expect(answer["content-type"] != "application/octet-stream", "\(name)")
        }
    }

    @Test func nothingIsInlineAndNothingIsFromElsewhere() throws {
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

    @Test func thePolicyAllowsNothingElse() throws {
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

    @Test func theSettingsAreWhatTheOperatorSaid() throws {
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

    /// Both languages have the same texts, with the same places to fill in.
    @Test func everyTextIsInBothLanguages() throws {
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

    /// The places to fill in of each text, by its key.
    private static func texts(_ script: String) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for line in script.matches(of: /\n    ([A-Za-z_0-9]+): (.*)/) {
            found[String(line.1)] = Set(line.2.matches(of: /\{([a-z]+)\}/).map { String($0.1) })
        }
        return found
    }
}
