import CCurl
import Core

extension CurlTransfer {
    /// Sets every option of the handle; false if libcurl refuses one. With `isAlone` it shares its connection with no
    /// other transfer, with `isFresh` it opens a connection that others may use after it.
    func prepare(_ configuration: HTTPLanes.Configuration, _ roots: SharedRoots?, isAlone: Bool, isFresh: Bool) -> Bool
    {
        let isProxied = configuration.proxy != nil
        let codes = [
            ccurl_set_string(easy, CURLOPT_URL, exchange.url.normalized),
            ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1),
            ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            // For a proxy's name, or any name with SOCKS: otherwise all transfers wait for a look-up that libcurl gives
            // up on.
            ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1),
            // With HTTP/2 libcurl (7.88) reads frames without content until there are none, and all transfers wait.
            ccurl_set_long(
                easy,
                CURLOPT_HTTP_VERSION,
                Int(isGuarded ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
            ),
            ccurl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            ccurl_set_long(easy, CURLOPT_HTTP09_ALLOWED, 0),
            ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, 0),
            ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.lanes.connectTimeout.milliseconds)),
            // An empty string stops libcurl from reading the environment.
            ccurl_set_string(easy, CURLOPT_PROXY, configuration.proxy ?? ""),
            // The same for NO_PROXY: it would bypass the proxy, which checks addresses for us.
            ccurl_set_string(easy, CURLOPT_NOPROXY, ""),
            // A request to a busy origin waits for a connection that it can share instead of opening another.
            ccurl_set_long(easy, CURLOPT_PIPEWAIT, exchange.request.multiplexed ? 1 : 0),
            ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, isAlone || isFresh ? 1 : 0),
            ccurl_set_long(easy, CURLOPT_FORBID_REUSE, isAlone ? 1 : 0),
            roots?.set(on: easy) ?? setRoots(configuration.caFile),
            setClientCertificate(exchange.request.scope?.clientCertificate),
            setMethodAndBody(),
            setHeaderFields(),
            setAddresses(),
            setCallbacks(checksAddresses: isGuarded && !isProxied),
        ]
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    /// libcurl takes one file and one directory of roots: the operator's file and the system's directory.
    private func setRoots(_ caFile: String?) -> CURLcode {
        guard let caFile else { return CURLE_OK }
        if ccurl_default_ca_path(easy) == nil, ccurl_set_string(easy, CURLOPT_CAPATH, "/etc/ssl/certs") != CURLE_OK {
            return CURLE_SSL_CACERT_BADFILE
        }
        return ccurl_set_string(easy, CURLOPT_CAINFO, caFile)
    }

    private func setClientCertificate(_ certificate: ClientCertificate?) -> CURLcode {
        guard let certificate else { return CURLE_OK }
        let codes = [
            ccurl_set_string(easy, CURLOPT_SSLCERTTYPE, "PEM"),
            ccurl_set_string(easy, CURLOPT_SSLKEYTYPE, "PEM"),
            setBlob(CURLOPT_SSLCERT_BLOB, certificate.chainPEM),
            setBlob(CURLOPT_SSLKEY_BLOB, certificate.keyPEM),
        ]
        return codes.first { $0 != CURLE_OK } ?? CURLE_OK
    }

    private func setBlob(_ option: CURLoption, _ text: String) -> CURLcode {
        var text = text
        return text.withUTF8 { ccurl_set_blob(easy, option, $0.baseAddress, $0.count) }
    }

    private func setMethodAndBody() -> CURLcode {
        let request = exchange.request
        if request.method == "HEAD" { return ccurl_set_long(easy, CURLOPT_NOBODY, 1) }
        if request.body.isEmpty, request.method == "GET" { return ccurl_set_long(easy, CURLOPT_HTTPGET, 1) }
        let sizeCode = ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, request.body.count)
        let bodyCode = request.body.withUnsafeBytes { body in
            // libcurl copies; an empty body still needs an address.
            body.baseAddress.map { ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0) }
                ?? ccurl_set_string(easy, CURLOPT_COPYPOSTFIELDS, "")
        }
        let methodCode = ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method)
        return [sizeCode, bodyCode, methodCode].first { $0 != CURLE_OK } ?? CURLE_OK
    }

    private func setHeaderFields() -> CURLcode {
        // A name with only a colon stops libcurl from adding its own field, a semicolon sends an empty one.
        let names = Set(exchange.request.headers.map(\.name))
        let unwanted = ["accept", "content-type", "expect"].filter { !names.contains($0) }.map { "\($0):" }
        let wanted = exchange.request.headers.filter { !Self.isConnectionSpecific($0.name) }
            .map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        return setList(CURLOPT_HTTPHEADER, unwanted + wanted)
    }

    private func setAddresses() -> CURLcode {
        guard let addresses = exchange.addresses else { return CURLE_OK }
        let origin = exchange.url.origin
        // The plus lets the entry expire after a minute.
        return setList(CURLOPT_RESOLVE, ["+\(origin.host):\(origin.port):\(addresses)"])
    }

    /// libcurl frames the message and sets the host; callers must not contradict it.
    private static func isConnectionSpecific(_ name: String) -> Bool {
        switch name {
        case "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding",
            "upgrade":
            true
        default:
            false
        }
    }

    private func setCallbacks(checksAddresses: Bool) -> CURLcode {
        let context = Unmanaged.passUnretained(self).toOpaque()
        var codes = [
            ccurl_set_bytes_callback(easy, CURLOPT_HEADERFUNCTION, onHeader),
            ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context),
            ccurl_set_bytes_callback(easy, CURLOPT_WRITEFUNCTION, onBody),
            ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context),
            ccurl_set_sockopt(easy, onSocket, context),
        ]
        if checksAddresses {
            codes.append(ccurl_set_opensocket(easy, onOpenSocket, context))
            codes.append(ccurl_set_prereq(easy, onConnectedGuarded, context))
        } else {
            codes.append(ccurl_set_prereq(easy, onConnected, context))
        }
        return codes.first { $0 != CURLE_OK } ?? CURLE_OK
    }
}

// libcurl calls plain C functions with the transfer as their context; the worker keeps it while the handle is in use.

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

private func onHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.received(headerLine: line) == true ? line.count : 0
}

private func onBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.received(body: piece) == true ? piece.count : 0
}

/// Checks each address before any data is sent to it.
private func onOpenSocket(
    _ context: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address, let transfer = transfer(context) else { return CURL_SOCKET_BAD }
    let target = ccurl_address(address).flatMap { IPAddress($0, length: Int(address.pointee.addrlen)) }
    guard transfer.permits(target) else { return CURL_SOCKET_BAD }
    return ccurl_socket(address)
}

/// Sees each socket before it connects.
private func onSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ purpose: curlsocktype) -> Int32 {
    transfer(context)?.opened(socket)
    return CURL_SOCKOPT_OK
}

/// Sees a connection just before its use.
private func onConnected(
    _ context: UnsafeMutableRawPointer?,
    _ address: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?,
    _ port: Int32,
    _ localPort: Int32
) -> Int32 {
    transfer(context)?.begin(ends(address, port, local, localPort)) == true
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// Checks the address of a connection just before its use, even if another request opened it.
private func onConnectedGuarded(
    _ context: UnsafeMutableRawPointer?,
    _ address: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?,
    _ port: Int32,
    _ localPort: Int32
) -> Int32 {
    guard let address, let transfer = transfer(context), transfer.connected(to: IPAddress(String(cString: address))),
        transfer.begin(ends(address, port, local, localPort))
    else {
        return CURL_PREREQFUNC_ABORT
    }
    return CURL_PREREQFUNC_OK
}

private func ends(
    _ remote: UnsafeMutablePointer<CChar>?,
    _ remotePort: Int32,
    _ local: UnsafeMutablePointer<CChar>?,
    _ localPort: Int32
) -> KeptConnections.Ends? {
    guard let remote, let local else { return nil }
    return KeptConnections.Ends(
        remoteAddress: String(cString: remote),
        remotePort: remotePort,
        localAddress: String(cString: local),
        localPort: localPort
    )
}
