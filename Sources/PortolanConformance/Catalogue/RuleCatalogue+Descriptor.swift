// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let descriptor: [ConformanceRule] = [
        .must(
            "DESC-01", level: 1, isEnforced: true,
            "dlopen opens the library with RTLD_NOW and RTLD_LOCAL. No symbol is missing.",
            because: "A missing symbol that is only looked up when it is called ends the process that loads the URL.",
            remedy: "Link every library that the code uses, with -Wl,-z,defs, and read the error message of dlopen."),
        .must(
            "DESC-02", level: 1, isEnforced: true,
            "The library exports portolan_plugin_entry, and should export nothing else.",
            because: "Another exported name can clash with the same name in another plugin.",
            remedy: "Compile with -fvisibility=hidden and put PORTOLAN_EXPORT on the entry function only."),
        .must(
            "DESC-03", level: 1,
            "The entry function returns the same descriptor on every call, on any thread.",
            because: "The host keeps pointers into the descriptor, and calls the entry function on any thread.",
            remedy: "Return the address of one static const structure."),
        .must(
            "DESC-04", level: 1, isEnforced: true,
            "The entry function returns NULL to a host of another major version.",
            because: "Otherwise the host reads structures of one version as those of another.",
            remedy: "Compare abi_major with PORTOLAN_ABI_MAJOR first, and return NULL if they differ."),
        .must(
            "DESC-05", level: 1, isEnforced: true,
            "Each structure is complete: size, counts and pointers agree. The plugin reads nothing beyond the size that the host set.",
            because: "Between different minor versions, only the size says which members exist.",
            remedy: "Set size with sizeof, and use PORTOLAN_HAS before you read a member that version 1 does not have."),
        .must(
            "DESC-06", level: 1, isEnforced: true,
            "The identifiers of the plugin and its handlers are reverse-DNS names in UTF-8 of at most 255 bytes.",
            because: "Policies, logs and manifests refer to a plugin by its identifier.",
            remedy: "Write a name such as org.example.tide: at least two labels of letters, digits, '-' and '_'."),
        .must(
            "DESC-07", level: 1,
            "The version follows Semantic Versioning 2.0.0. Name and vendor are text that is not empty.",
            because: "People and package managers compare versions, and read names.",
            remedy: "Write a version such as 1.0.0, a name, and who made the plugin."),
        .must(
            "DESC-08", level: 1, isEnforced: true,
            "Schemes follow RFC 3986, section 3.1, and are in lower case. Each scheme is listed once.",
            because: "The registry compares the bytes of schemes to find a handler.",
            remedy: "Start with a letter, continue with letters, digits, '+', '-' and '.', and remove duplicates."),
        .must(
            "DESC-09", level: 1,
            "Opening and describing the library changes no thread, file descriptor, signal, locale, working folder, umask or environment.",
            because: "A computer may have a thousand plugins. Reading the descriptor of one must not change the process.",
            remedy: "Do nothing in constructors and in the entry function. Start in init."),
        .should(
            "DESC-10", level: 1,
            "Opening and describing the library takes less than 100 ms.",
            because: "The first load of the scheme waits until both are done.",
            remedy: "Move tables and look-ups to init, or to the first load."),
        .must(
            "DESC-11", level: 1,
            "The plugin returns NULL for an extension that it does not know.",
            because: "A later host asks for extensions that did not exist when the plugin was built.",
            remedy: "Compare the identifier with the ones that you know, and return NULL for all others."),
        .must(
            "DESC-12", level: 1,
            "The library links no module of the host, and has no run path into a folder that other users can write to.",
            because: "The library would load a second host into the process, or code that another user puts into that folder.",
            remedy: "Use nothing of Portolan except the headers or PortolanPluginKit, and remove -rpath."),
        .must(
            "DESC-13", level: 3,
            "The library works while a copy of it is open in the same process, and so does the copy.",
            because: "The host opens a new build while the old one is still running.",
            remedy: "Keep state in the instance that init returns, not under fixed names in the process."),
    ]
}
