import CarillonABI
import Glibc
import Testing

struct PluginLinkageTests {
    static let plugins = [
        "libCarillonAPNs.so", "libCarillonFCM.so", "libCarillonUnifiedPush.so", "libCarillonWebPush.so",
        "libCarillonWebhook.so", "libCarillonHTTPTemplate.so",
        "libCarillonEmail.so", "libCarillonMQTT.so", "libCarillonTelegram.so",
        "libCarillonMutes.so", "libCarillonNoise.so", "libCarillonWebOfTrust.so",
    ]

    /// The system's C library, Swift's runtime, and OpenSSL. No Foundation, NIO or TLS: the host has those.
    private static let allowed: Set = [
        "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
        "libcrypto.so.3", "libswiftCore.so", "libswiftGlibc.so", "libswiftSwiftOnoneSupport.so",
        "libswiftSynchronization.so", "libswift_Concurrency.so", "libswift_StringProcessing.so",
        "libswift_RegexParser.so", "libswift_Builtin_float.so", "libdispatch.so", "libBlocksRuntime.so",
    ]

    @Test(arguments: plugins) func exportsTheEntryFunctionAndNothingElse(_ name: String) throws {
        #expect(try BuiltLibrary.named(name).image.exportedSymbols == ["carillon_plugin_entry_v1"])
    }

    @Test(arguments: plugins) func needsOnlyTheRuntimeAndOpenSSL(_ name: String) throws {
        let needed = try BuiltLibrary.named(name).image.neededLibraries
        #expect(needed.contains("libswiftCore.so"))
        #expect(Set(needed).subtracting(PluginLinkageTests.allowed).isEmpty)
    }

    @Test(arguments: plugins) func isNeverUnloaded(_ name: String) throws {
        #expect(try BuiltLibrary.named(name).image.isNeverUnloaded)
    }

    @Test(arguments: [
        ("libCarillonAPNs.so", "ios"), ("libCarillonFCM.so", "android"),
        ("libCarillonUnifiedPush.so", "unifiedpush"), ("libCarillonWebPush.so", "web"),
        ("libCarillonWebhook.so", "webhook"), ("libCarillonHTTPTemplate.so", "http"),
        ("libCarillonEmail.so", "email"), ("libCarillonMQTT.so", "mqtt"),
        ("libCarillonTelegram.so", "telegram"),
    ])
    func loadsAndDescribesItself(_ name: String, _ platform: String) throws {
        let path = try BuiltLibrary.named(name).path
        let library = try #require(dlopen(path, RTLD_NOW | RTLD_LOCAL), "\(String(cString: dlerror()))")
        let symbol = try #require(dlsym(library, "carillon_plugin_entry_v1"))
        typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?
        let entry = unsafeBitCast(symbol, to: Entry.self)
        let plugin = try #require(entry())
        #expect(entry() == plugin)
        #expect(plugin.pointee.abi_minor == CARILLON_ABI_MINOR)
        let transport = try #require(plugin.pointee.transports?[0]).pointee
        let text = UnsafeRawBufferPointer(start: transport.platform.ptr, count: transport.platform.len)
        #expect(String(decoding: text, as: UTF8.self) == platform)
    }

    @Test(arguments: [
        ("libCarillonMutes.so", "mutes"), ("libCarillonNoise.so", "noise"),
        ("libCarillonWebOfTrust.so", "web-of-trust"),
    ])
    func filtersDescribeThemselves(_ name: String, _ filter: String) throws {
        let path = try BuiltLibrary.named(name).path
        let library = try #require(dlopen(path, RTLD_NOW | RTLD_LOCAL), "\(String(cString: dlerror()))")
        let symbol = try #require(dlsym(library, "carillon_plugin_entry_v1"))
        typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?
        let plugin = try #require(unsafeBitCast(symbol, to: Entry.self)())
        #expect(plugin.pointee.transport_count == 0 && plugin.pointee.filter_count == 1)
        let table = try #require(plugin.pointee.filters?[0]).pointee
        let text = UnsafeRawBufferPointer(start: table.name.ptr, count: table.name.len)
        #expect(String(decoding: text, as: UTF8.self) == filter)
    }

    @Test func readerMatchesAnotherProgramsExports() throws {
        let image = try BuiltLibrary.named("libCarillonAPNs.so").image
        #expect(image.importedSymbols.contains { $0.hasPrefix("swift_") })
        #expect(!image.importedSymbols.contains("carillon_plugin_entry_v1"))
    }

    @Test func fileThatIsNotALibraryIsRefused() {
        #expect(throws: ELFImage.Mistake.self) { try ELFImage([]) }
        #expect(throws: ELFImage.Mistake.self) { try ELFImage(Array("#!/bin/sh\n".utf8)) }
        #expect(throws: ELFImage.Mistake.self) { try ELFImage([0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0]) }
    }
}
