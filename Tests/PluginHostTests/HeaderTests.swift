import CommandTestSupport
import Foundation
import Testing

/// The header as plugin authors' compilers see it.
struct HeaderTests {
    private static let source = """
        #include <carillon/plugin.h>
        extern const carillon_str platform;
        const carillon_str platform = CARILLON_STR("ios");
        int offers_query(const carillon_host *host);
        int offers_query(const carillon_host *host) { return CARILLON_HAS(host, query); }

        """

    @Test(arguments: [
        ("gcc", "c11", "c"), ("gcc", "c17", "c"), ("g++", "c++17", "cpp"), ("g++", "c++20", "cpp"),
        ("clang", "c11", "c"), ("clang", "c17", "c"), ("clang++", "c++17", "cpp"),
    ])
    func compilesWithoutAWarning(compiler: String, standard: String, suffix: String) throws {
        guard try CommandRun(compiler, ["--version"]).status == 0 else { return }
        let workshop = try Workshop()
        let file = try workshop.write(Self.source.utf8, to: "author.\(suffix)")
        let result = try CommandRun(
            compiler,
            [
                "-std=\(standard)", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I", Workshop.include,
                file,
            ]
        )
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.isEmpty)
    }

    @Test func layoutHoldsForEveryCompiler() throws {
        let layout = Workshop.repository.appending(path: "Sources/CarillonABI/layout.c").path
        for compiler in ["gcc", "clang"] where try CommandRun(compiler, ["--version"]).status == 0 {
            let result = try CommandRun(
                compiler,
                ["-std=c11", "-pedantic", "-Werror", "-fsyntax-only", "-I", Workshop.include, layout]
            )
            #expect(result.status == 0, "\(result.output)")
        }
    }

    @Test func movedFieldDoesNotCompile() throws {
        let workshop = try Workshop()
        let layout = Workshop.repository.appending(path: "Sources/CarillonABI/layout.c").path
        let result = try CommandRun(
            "cc",
            ["-std=c11", "-fsyntax-only", "-Dretry_after_ms=later, retry_after_ms", "-I", Workshop.include, layout]
        )
        #expect(result.status != 0)
        #expect(result.output.contains("carillon_outcome"))
        _ = workshop
    }
}
