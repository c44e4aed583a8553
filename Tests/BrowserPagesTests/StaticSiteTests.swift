import Testing

@testable import BrowserPages

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

    @Test func onlyTheFolderIsAnswered() {
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

    @Test func methods() {
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
