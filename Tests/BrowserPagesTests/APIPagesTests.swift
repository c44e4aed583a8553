import Foundation
import Testing

@testable import BrowserPages

@Suite("The pages /me and /console")
struct APIPagesTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources/Ingress/BrowserPages")

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
    func everyFileIsServedAsItIs(_ page: String, _ folder: String) throws {
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

    /// Nothing is inline, nothing comes from elsewhere, no text becomes markup, and what a script imports is there.
    @Test(arguments: ["me": "me.js", "console": "console.js"])
    func pagesAreWhole(_ page: String, _ first: String) throws {
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

    @Test func thePolicyAllowsNothingElse() throws {
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

    /// The API has paths that end alike.
    @Test func nothingElseIsAnswered() {
        for target in ["/v1/me", "/v1/me/devices", "/x/me/", "/me/x/y", "/", "/v1/console/", "/api/me/"] {
            #expect(answer(target) == nil, "\(target)")
        }
        #expect(answer("/me")?["location"] == "me/" && answer("/console?x=1")?["location"] == "console/")
        #expect(answer("/console/none.js")?.status == 404)
    }
}
